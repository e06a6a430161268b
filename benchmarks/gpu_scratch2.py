import json, time, sys, os, tempfile, cProfile, pstats, io
import torch
from torch import nn
from torch.nn.functional import conv1d, conv2d, pad, embedding
from torch.nn.functional import scaled_dot_product_attention as sdpa
from torch.nn.attention import SDPBackend, sdpa_kernel
dev = torch.device("cuda"); B=torch.bfloat16
found={}
def med(name, work, n=10, inner=20):
    try:
        work(); work()
        g=torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(g):
            for _ in range(inner): work()
        g.replay(); torch.cuda.synchronize(); ts=[]
        for _ in range(n):
            t=time.perf_counter(); g.replay(); torch.cuda.synchronize(); ts.append(time.perf_counter()-t)
        found[name]=round(sorted(ts)[len(ts)//2]*1e6/inner,1)
    except Exception as e: found[name]=repr(e)[:160]; torch.cuda.synchronize()
with torch.inference_mode():
  for n in (20,160,1280):
    for c,w in ((2560,11),(5120,7)):
        P=w-1+32; past=torch.randn(P,n,c,device=dev,dtype=B); wt=torch.randn(w,c,device=dev,dtype=B)
        idx=torch.arange(n,device=dev); pos=torch.full((n,),20,device=dev); x=torch.randn(n,c,device=dev,dtype=B)
        places=pos+torch.arange(w,device=dev)[:,None]; flat=(places*n+idx); f1=flat.flatten(); v=past.view(-1,c)
        ft=flat.t().contiguous(); ft1=ft.flatten()
        one=(pos+w-1)*n+idx
        k=f"{n},{c},{w} "
        med(k+"gather old",lambda: past[places,idx])
        med(k+"gather flat2d",lambda: v[flat])
        med(k+"gather flat1d",lambda: v[f1])
        med(k+"index_select",lambda: v.index_select(0,f1))
        med(k+"embedding",lambda: embedding(flat,v))
        med(k+"put old",lambda: past.transpose(0,1)[:,w-1:].__setitem__((idx,pos),x))
        med(k+"index_copy",lambda: v.index_copy_(0,one,x))
        med(k+"put flat",lambda: v.__setitem__(one,x))
        one2=one[:,None].expand(-1,c)
        med(k+"scatter",lambda: v.scatter_(0,one2,x))
        win=past[places,idx]; wint=v[ft].contiguous() # (n,w,c)
        med(k+"mul sum",lambda: (win*wt.unsqueeze(1)).sum(dim=0,dtype=B))
        med(k+"mul sum t",lambda: (wint*wt).sum(dim=1,dtype=B))
        ker=wt.t()[:,None,None,:]
        med(k+"conv2d t",lambda: conv2d(wint.transpose(1,2).unsqueeze(2),ker,groups=c))
        med(k+"vecdot",lambda: torch.linalg.vecdot(win,wt.unsqueeze(1),dim=0))
    q=torch.randn(n,32,1,80,device=dev,dtype=B); kv=torch.randn(1,2,n,32,32,80,device=dev,dtype=B)
    m=torch.zeros(n,1,1,32,device=dev,dtype=B); kk,vv=kv[0,:,:,:,:32]
    med(f"one {n} auto",lambda: sdpa(q,kk,vv,attn_mask=m))
    for b in (SDPBackend.FLASH_ATTENTION,SDPBackend.EFFICIENT_ATTENTION,SDPBackend.CUDNN_ATTENTION):
        def go():
            with sdpa_kernel(b): return sdpa(q,kk,vv,attn_mask=None if b==SDPBackend.FLASH_ATTENTION else m)
        med(f"one {n} {b.name}",go)
    K,V,Q=kk.flatten(0,1),vv.flatten(0,1),q.flatten(0,1)
    def bm():
        s=torch.bmm(Q,K.transpose(1,2)).view(n,32,1,32)+m
        return torch.bmm(s.softmax(-1).flatten(0,1),V)
    med(f"one {n} bmm",bm)
    def bm2():
        s=torch.bmm(K,Q.transpose(1,2)).view(n,32,1,32)+m
        return torch.bmm(V.transpose(1,2),s.softmax(-1).flatten(0,1).transpose(1,2))
    med(f"one {n} bmm2",bm2)
    def mulsum():
        s=(kk*q).sum(-1,dtype=torch.float32).unsqueeze(2)+m
        return (vv*s.softmax(-1).to(B).transpose(2,3)).sum(2,dtype=B)
    med(f"one {n} mulsum",mulsum)
    for c in (2560,5120,10240):
        x=torch.randn(n,c,device=dev,dtype=B); ln=nn.LayerNorm(c,device=dev,dtype=B)
        med(f"norm {n},{c}",lambda: ln(x))
        xf=x.float(); lf=nn.LayerNorm(c,device=dev)
        med(f"norm32 {n},{c}",lambda: lf(xf))
        def manual():
            var,mean=torch.var_mean(x,dim=-1,keepdim=True,correction=0)
            return torch.addcmul(ln.bias,(x-mean)*(var+1e-5).rsqrt(),ln.weight)
        med(f"norm manual {n},{c}",manual)
print(json.dumps(found,indent=0),flush=True)
# HF
os.environ.setdefault("HF_HUB_OFFLINE","1")
from pathlib import Path
from benchmarks import gpu
machine=gpu.Machine(dev,3,False,False)
folder=tempfile.mkdtemp(); gpu.save_llama(Path(folder),machine); os.environ["TURNWISE_MODEL_FOLDERS"]=folder
bot=gpu.create_bot("huggingface-causal",{"model":folder,"device":"cuda","precision":"bfloat16","most_tokens":64,"batch":64})
ctx=gpu.contexts_of(64); prompts=[bot.prompt(x,bot.prompt_room()) for x in ctx]
gen=lambda: gpu.generate(bot,prompts,64,greedy=False)
bot.respond(ctx); gen()
print("prompts",machine.once(lambda:[bot.prompt(x,bot.prompt_room()) for x in ctx]))
for _ in range(2): print("respond",machine.once(lambda: bot.respond(ctx)),"generate",machine.once(gen),flush=True)
a=bot.answering(); print("admit",machine.once(lambda: a.admit(ctx)))
ts=[machine.once(a.step) for _ in range(64)]; print("steps",[round(t*1e3,1) for t in ts])
for name,w in (("ours",lambda: bot.respond(ctx)),("theirs",gen)):
    p=cProfile.Profile(); p.enable(); w(); torch.cuda.synchronize(); p.disable()
    s=io.StringIO(); pstats.Stats(p,stream=s).sort_stats("tottime").print_stats(22); print(name, "\n".join(l[:140] for l in s.getvalue().splitlines() if l.strip()),flush=True)
